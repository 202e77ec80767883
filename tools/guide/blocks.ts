/** A fenced block of a page that can be run, or that shows the output of the block before it. */
export interface Block {
  kind: "ts" | "sh" | "output";
  /** File name in the fence of a `ts` block; null: none. */
  file: string | null;
  /** Whether a `sh` block runs in another terminal, beside the following blocks, until the page ends. */
  inBackground: boolean;
  /** Whether the block, or the block whose output it shows, is a program of another system (`peer`). */
  needsPeers: boolean;
  text: string;
  /** Number of the block's first line of code, from 1. */
  line: number;
}

export interface Page {
  blocks: Block[];
  needsServer: boolean;
  /** Whether the page's own servers need a database. */
  needsPostgres: boolean;
}

/** Comments of the page, which readers do not see. */
const NEEDS_POSTGRES = /^<!-- needs a PostgreSQL -->$/m;
const NEEDS_SERVER = /^<!-- needs a server -->$/m;
const FENCE = /^```(\S*) *(.*)$/;

/**
 * Reads the blocks of a Markdown page that can be run: `ts` and `sh`, unless the fence continues with `no-run`, and
 * `text output`. Blocks of other languages are for reading.
 * @throws {Error} a fence has an unknown word, or is not closed
 */
export function readPage(markdown: string): Page {
  const blocks: Block[] = [];
  let open: { language: string; rest: string; line: number } | null = null;
  let lines: string[] = [];
  for (const [index, text] of markdown.split("\n").entries()) {
    const fence = FENCE.exec(text);
    if (open === null) {
      if (fence !== null) open = { language: fence[1] ?? "", rest: (fence[2] ?? "").trim(), line: index + 2 };
    } else if (text.startsWith("```")) {
      const block = blockOf(open.language, open.rest, { text: lines.join("\n"), line: open.line });
      if (block?.kind === "output") block.needsPeers = blocks.at(-1)?.needsPeers ?? false;
      if (block !== null) blocks.push(block);
      open = null;
      lines = [];
    } else lines.push(text);
  }
  if (open !== null) throw new Error(`line ${open.line - 1}: this fence is not closed`);
  return { blocks, needsServer: NEEDS_SERVER.test(markdown), needsPostgres: NEEDS_POSTGRES.test(markdown) };
}

function blockOf(language: string, info: string, code: { text: string; line: number }): Block | null {
  const needsPeers = /^peer(?: |$)/.test(info);
  const rest = needsPeers ? info.slice("peer".length).trimStart() : info;
  const plain = { file: null, inBackground: false, needsPeers, ...code };
  if (language === "text" && rest === "output") return { ...plain, kind: "output" };
  if ((language !== "ts" && language !== "sh") || rest === "no-run") return null;
  if (rest === "") return { ...plain, kind: language };
  if (language === "sh" && rest === "background") return { ...plain, kind: "sh", inBackground: true };
  if (language === "ts" && /^[a-z0-9-]+([.]test)?[.]ts$/.test(rest)) return { ...plain, kind: "ts", file: rest };
  const right = "nothing, `no-run`, for `sh` `background` or, for `ts`, the name of a file, each also behind `peer`";
  throw new Error(`line ${code.line - 1}: behind \`${language}\` stands ${right}, not "${info}"`);
}
