import type { Client } from "@mainspring/sdk";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { isId } from "./option-values.ts";

/** Largest number of ids that the error lists if a prefix is ambiguous. */
const SHOWN_MAX = 5;

/**
 * Id of the execution that an argument denotes: the whole id, or an unambiguous prefix.
 * @throws {Failure} no execution, or several, have the prefix
 */
export async function executionIdOf(client: Client, idOrPrefix: string): Promise<string> {
  if (isId(idOrPrefix)) return idOrPrefix;
  const found = client.listExecutions({ idPrefix: idOrPrefix, limit: SHOWN_MAX + 1 });
  return onlyOne("execution", idOrPrefix, found, ({ executionId }) => executionId);
}

/** Ids of the executions that several arguments denote. */
export function executionIdsOf(client: Client, idsOrPrefixes: readonly string[]): Promise<string[]> {
  return Promise.all(idsOrPrefixes.map((one) => executionIdOf(client, one)));
}

/** The only id with this prefix. @throws {Failure} there is none, or several */
export async function onlyOne<T>(
  kind: "execution" | "job" | "workflow",
  prefix: string,
  items: AsyncIterable<T>,
  idOf: (item: T) => string,
): Promise<string> {
  const found: string[] = [];
  for await (const item of items) if (found.push(idOf(item)) > SHOWN_MAX) break;
  const [first] = found;
  if (first === undefined)
    throw new Failure(
      `no ${kind} has an id that begins with ${prefix}: see \`${kind === "workflow" ? kind : `${kind}s`} list\``,
      EXIT.failed,
    );
  if (found.length === 1) return first;
  const shown = found.slice(0, SHOWN_MAX).join(", ") + (found.length > SHOWN_MAX ? ", …" : "");
  throw new Failure(
    `several ${kind}s have an id that begins with ${prefix}: give more of it. They are ${shown}`,
    EXIT.failed,
  );
}
