// A stream of bytes goes in; its server-sent events come out, one by one, however the stream was cut on its way.

/**
 * Yields {name, data}. Lines may end in LF, CR LF or CR, an event may be cut anywhere between two reads, `data` may take several
 * lines, and lines that start with a colon are only heartbeats. `broken` makes the error for a connection that was lost.
 */
export async function* events(body, broken = (error) => error) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  let name = "";
  let data = [];
  try {
    for (;;) {
      let chunk;
      try {
        chunk = await reader.read();
      } catch (error) {
        throw error.name === "AbortError" ? error : broken(error);
      }
      buffer += chunk.done ? decoder.decode() : decoder.decode(chunk.value, { stream: true });
      let from = 0;
      for (;;) {
        const rest = buffer.slice(from);
        const found = /\r\n|\n|\r/.exec(rest);
        // A CR at the very end may be half of a CR LF: wait for the next read.
        if (!found || (found[0] === "\r" && !chunk.done && found.index === rest.length - 1)) break;
        const line = rest.slice(0, found.index);
        from += found.index + found[0].length;
        if (line === "") {
          if (data.length) yield { name: name || "message", data: data.join("\n") };
          name = "";
          data = [];
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") name = value;
        else if (field === "data") data.push(value);
      }
      buffer = buffer.slice(from);
      // What the stream left without a blank line behind it is not an event.
      if (chunk.done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
