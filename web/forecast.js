// Jobs under way and the stock's figures go in; the pages that are still to come, and the bytes they will take, come out.

const COMPILING = "compile";
const COUNTED = new Set(["rasterise", "ocr"]);
const BEHIND = new Set(["patch", "index"]);
const FINAL = new Set(["done", "failed", "cancelled"]);

/** Pages of a job: done of how many. While it compiles it counts page images, one a resolution. */
export function pagesOf(job, resolutions) {
  const images = Math.max(1, resolutions);
  if (job.stage === COMPILING) return { done: Math.floor(job.done / images), total: Math.ceil(job.total / images) };
  return { done: job.done, total: job.total };
}

/** Pages of a job that are not compiled yet, or null while nobody has counted them. */
function pending(job, resolutions) {
  if (BEHIND.has(job.stage)) return 0;
  const { done, total } = pagesOf(job, resolutions);
  if (job.stage === COMPILING) return total - done;
  return COUNTED.has(job.stage) && total > 0 ? total : null;
}

/** What one page takes on the disk at all its resolutions: caches and images; null where nothing is stored yet to reckon from. */
export function bytesOfPage(stats) {
  const each = stats?.bytes_per_page;
  if (!each) return null;
  const caches = Object.entries(each).filter(([name, bytes]) => name !== "image" && bytes);
  if (!caches.length) return null;
  return caches.reduce((sum, [, bytes]) => sum + bytes + (each.image || 0), 0);
}

/**
 * `jobs` as the server tells them, and `unsent` files that have no job yet. A job that is not cut into pages yet counts as the mean
 * document of the stock. Returns {pages, bytes, sure}, `sure` when every page was counted; or null where there is nothing to reckon from.
 */
export function forecast(jobs, unsent, stats, resolutions) {
  const each = bytesOfPage(stats);
  const mean = stats && stats.documents ? stats.pages / stats.documents : null;
  if (each === null || mean === null) return null;
  const known = jobs.filter((job) => !FINAL.has(job.state)).map((job) => (job.state === "running" ? pending(job, resolutions) : null));
  const uncounted = known.filter((pages) => pages === null).length + unsent;
  const pages = Math.round(known.reduce((sum, n) => sum + (n ?? 0), 0) + uncounted * mean);
  return { pages, bytes: Math.round(pages * each), sure: uncounted === 0 };
}
