import type { Client } from "@mainspring/sdk";
import { EXIT } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import { isId } from "./option-values.ts";

/** Ids that are named where a prefix means several. */
const SHOWN_MAX = 5;

/**
 * The id of the execution that an argument means: all of its id, or an unambiguous beginning.
 * @throws {Failure} where the beginning means none or several
 */
export async function executionIdOf(client: Client, idOrPrefix: string): Promise<string> {
  if (isId(idOrPrefix)) return idOrPrefix;
  const found = client.listExecutions({ idPrefix: idOrPrefix, limit: SHOWN_MAX + 1 });
  return onlyOne("execution", idOrPrefix, found, ({ executionId }) => executionId);
}

/** Several of them. */
export function executionIdsOf(client: Client, idsOrPrefixes: readonly string[]): Promise<string[]> {
  return Promise.all(idsOrPrefixes.map((one) => executionIdOf(client, one)));
}

/** The only id with this beginning. @throws {Failure} */
export async function onlyOne<T>(
  kind: "execution" | "job",
  prefix: string,
  items: AsyncIterable<T>,
  idOf: (item: T) => string,
): Promise<string> {
  const found: string[] = [];
  for await (const item of items) if (found.push(idOf(item)) > SHOWN_MAX) break;
  const [first] = found;
  if (first === undefined)
    throw new Failure(`no ${kind} has an id that begins with ${prefix}: see \`${kind}s list\``, EXIT.failed);
  if (found.length === 1) return first;
  const shown = found.slice(0, SHOWN_MAX).join(", ") + (found.length > SHOWN_MAX ? ", …" : "");
  throw new Failure(
    `several ${kind}s have an id that begins with ${prefix}: give more of it. They are ${shown}`,
    EXIT.failed,
  );
}
