import { parseJsonBody } from "./json-body.ts";
import { elementsOf, memberOf, type Slice } from "./json-scan.ts";

/**
 * Reads all of a batch's body but its jobs, of which it says where they lie: parsing 32 MiB at once would keep everybody
 * else waiting for half a second. Each job is proven to be JSON when it is parsed (`parseJobs`).
 * @returns what the body is, with a `Slice` for each of `jobs`; a body without a list of jobs is returned as it is
 * @throws {ProblemError} malformed-json
 */
export function parseBatchBody(bytes: Buffer): unknown {
  const list = memberOf(bytes, 0, "jobs");
  const jobs: Slice[] | null = list === null ? null : elementsOf(bytes, list.start);
  if (list === null || jobs === null) return parseJsonBody(bytes);
  const rest = [bytes.subarray(0, list.start), Buffer.from("[]"), bytes.subarray(list.end)];
  return { ...(parseJsonBody(Buffer.concat(rest)) as object), jobs };
}

const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");

/**
 * The jobs of neighbouring slices of a body, as values. They are parsed as one text, because to begin with each costs as much
 * as a small one itself.
 * @param first the place of the first of them among all jobs
 * @throws {ProblemError} malformed-json: of the first that is none
 */
export function parseJobs(body: Buffer, slices: readonly Slice[], first: number): unknown[] {
  return (
    parsedTogether(body, slices) ??
    slices.map(({ start, end }, index) => {
      return parseJsonBody(body.subarray(start, end), `jobs[${first + index}]`);
    })
  );
}

/** null: something is wrong with one of them, or with all as one. */
function parsedTogether(body: Buffer, slices: readonly Slice[]): unknown[] | null {
  const [first, last] = [slices[0], slices.at(-1)];
  if (first === undefined || last === undefined) return [];
  try {
    const jobs = parseJsonBody(Buffer.concat([OPEN, body.subarray(first.start, last.end), CLOSE])) as unknown[];
    return jobs.length === slices.length ? jobs : null;
  } catch {
    return null;
  }
}
