import { inspect } from "node:util";

/** An event of the test runner, as far as the reporter reads it. */
interface CaseEvent {
  type: string;
  data: { name: string; nesting: number; details?: { type?: string; error?: unknown } };
}

/** A case of a suite that has ended. */
export interface EndedCase {
  /** Its groups and its name. */
  name: string;
  /** null: it passed. */
  error: string | null;
}

/** Reporter of the test runner that writes a line of JSON for each case. */
export default async function* caseReporter(source: AsyncIterable<CaseEvent>): AsyncGenerator<string> {
  const groups: string[] = [];
  for await (const { type, data } of source) {
    if (type === "test:start") groups[data.nesting] = data.name;
    if ((type !== "test:fail" && type !== "test:pass") || data.details?.type === "suite") continue;
    const name = [...groups.slice(0, data.nesting), data.name].join(" > ");
    const error = type === "test:pass" ? null : inspect(data.details?.error, { depth: 6 });
    yield `${JSON.stringify({ name, error } satisfies EndedCase)}\n`;
  }
}
