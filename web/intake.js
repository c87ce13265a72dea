// Files go in, by drop or by button, whole folders too; {file, name} come out, each name with its folders before it.

import { announce, byId, fill } from "./dom.js";

/** What was dropped, folders walked through: [{file, name}], each name with its folders before it. */
async function filesOf(transfer) {
  // Entries must be taken before the first await: afterwards the browser empties the list.
  const entries = [...transfer.items].filter((item) => item.kind === "file").map((item) => item.webkitGetAsEntry?.() || item.getAsFile());
  const files = [];
  const walk = async (entry) => {
    if (entry instanceof File) files.push({ file: entry, name: entry.name });
    else if (entry.isFile) files.push({ file: await new Promise((take, refuse) => entry.file(take, refuse)), name: entry.fullPath.replace(/^\//, "") });
    else if (entry.isDirectory) {
      const reader = entry.createReader();
      // readEntries gives a folder in pieces; an empty piece is the end.
      for (;;) {
        const piece = await new Promise((take, refuse) => reader.readEntries(take, refuse));
        if (!piece.length) break;
        for (const inner of piece) await walk(inner);
      }
    }
  };
  for (const entry of entries) if (entry) await walk(entry);
  return files;
}

/** Hidden files of a folder (.DS_Store and the like) are nobody's documents and are left out. */
const wanted = ({ name }) => !name.split("/").some((part) => part.startsWith("."));

/** `take` is given what came in; it is not called for nothing. */
export function startIntake(take) {
  const give = (files) => {
    const documents = files.filter(wanted);
    if (documents.length) take(documents);
    else announce("There was no file in what was dropped");
  };
  for (const id of ["files", "folder"]) {
    const input = byId(id);
    input.addEventListener("change", () => {
      give([...input.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
      // The same file, chosen again, must be a change again.
      input.value = "";
    });
  }
  // A browser that cannot choose folders would offer a second button for files.
  if (!("webkitdirectory" in byId("folder"))) fill(byId("folder").parentElement);
  const drop = byId("drop");
  const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  // A file dropped beside the mark would replace the page by the file: the whole window takes it.
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", async (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.classList.remove("over");
    try {
      give(await filesOf(event.dataTransfer));
    } catch {
      announce("What was dropped could not be read");
    }
  });
}
