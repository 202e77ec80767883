import { RUN_NODE } from "../../../domain/execution.ts";
import type { MovedPayload, TransferRows } from "../../../ports/store-transfer.ts";
import type { Body } from "../bodies.ts";
import { ID_BYTES, idBytes, idOf, u32 } from "../bytes.ts";
import { readRows } from "../owner-reads.ts";
import type { RedisCommand, RedisConnection } from "../redis-connection.ts";
import { graphBodies, partBodies, partName } from "../runs/graphs.ts";
import { readRuns, runFields, runKey } from "../runs/run-record.ts";
import { type KindInRedis, send } from "./kind.ts";
import { idsBehind, namesOf } from "./scan.ts";

/** Attempt in the names of moved parts. The attempt of the spawner that added a part is not known, and no other one can add it again. */
const NO_ATTEMPT = 0;
/** Workflows have one version. */
const VERSION = 1;

export const graphs: KindInRedis<"graphs"> = {
  rows: async function* ({ db }) {
    for await (const names of namesOf(db, `b${"?".repeat(ID_BYTES)}g????`, "hash"))
      for (const name of names) {
        const { fields, payloads } = await readBody(db, name);
        const output = fields.get("o");
        const own = output === undefined ? payloads : [{ node: RUN_NODE, payload: output }, ...payloads];
        yield [
          {
            ...{ workflow: idOf(name, 1), version: name.readUInt32BE(2 + ID_BYTES), nodes: Number(fields.get("n")) },
            ...{ graph: fields.get("g") as Buffer, definitions: fields.get("d") as Buffer, payloads: own },
          },
        ];
      }
  },
  write: async ({ db }, rows) => {
    for (const { workflow: id, payloads, ...graph } of rows) {
      const output = payloads.find(({ node }) => node === RUN_NODE)?.payload ?? null;
      const own = payloads.filter(({ node }) => node !== RUN_NODE);
      await send(db, commandsOf(db, graphBodies({ ...graph, id, payloads: own, output })));
    }
  },
  unfit: ({ workflow, version }) =>
    version === VERSION ? null : `the graph of ${workflow} has version ${version}, and workflows have one version`,
};

/** Fields of a graph or part, and payloads of its nodes in ascending order. */
async function readBody(db: RedisConnection, name: Buffer) {
  const [answer] = (await db.call([["HGETALL", db.key(name)]])) as [Buffer[]];
  const fields = new Map<string, Buffer>();
  const payloads: MovedPayload[] = [];
  for (let i = 0; i < answer.length; i += 2) {
    const [field, value] = answer.slice(i, i + 2) as [Buffer, Buffer];
    if (field.length > 1) payloads.push({ node: field.readUInt32BE(1), payload: value });
    else fields.set(String(field), value);
  }
  return { fields, payloads: payloads.sort((a, b) => a.node - b.node) };
}

function commandsOf(db: RedisConnection, bodies: readonly Body[]): RedisCommand[] {
  return bodies.map(({ name, field = "", bytes }) => ["HSET", db.key(name), field, Buffer.from(bytes)]);
}

export const runs: KindInRedis<"runs"> = {
  rows: async function* ({ db }) {
    for await (const ids of idsBehind(db, "rn", "hash")) {
      const [found, executions] = [await readRuns(db, ids), await readRows(db, ids)];
      const rows = ids.flatMap((run, i): TransferRows["runs"][] => {
        const [stored, execution] = [found[i], executions[i]];
        if (stored == null || execution == null) return [];
        const { parts: _, counts: __, ...own } = stored;
        return [{ run, ...own, retryOf: execution.retryOf }];
      });
      if (rows.length > 0) yield rows;
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.flatMap((row): RedisCommand[] => {
        const { run, outcome, mapCounts, kept, retryOf, ...own } = row;
        const fields = runFields({
          ...{ ...own, kept },
          ...(outcome !== null && { outcome }),
          ...(mapCounts.length > 0 && { mapCounts }),
        });
        return [
          ["HSET", db.key(runKey("rn", run)), ...fields],
          ...(retryOf === null ? [] : [["ZADD", db.key(runKey("rt", retryOf)), "0", idBytes(run)] as const]),
          ...kept.map((base) => ["SADD", db.key(runKey("rk", base.run)), idBytes(run)] as const),
        ];
      }),
    ),
};

export const parts: KindInRedis<"parts"> = {
  rows: async function* ({ db }) {
    for await (const ids of idsBehind(db, "rn", "hash")) {
      const [found, executions] = [await readRuns(db, ids), await readRows(db, ids)];
      for (const [i, run] of ids.entries())
        for (const { first, nodes, name } of executions[i] == null ? [] : (found[i]?.parts ?? [])) {
          const { fields, payloads } = await readBody(db, name);
          const [graph, definitions] = [fields.get("g") as Buffer, fields.get("d") as Buffer];
          yield [{ run, first, nodes, spawner: Number(fields.get("s")), graph, definitions, payloads }];
        }
    }
  },
  write: async ({ db }, rows) => {
    for (const row of rows) {
      const field = Buffer.concat([Buffer.from("s"), u32(row.first)]);
      const content = Buffer.concat([u32(row.nodes), partName(row.run, row.first, NO_ATTEMPT).subarray(-4)]);
      await send(db, [
        ...commandsOf(db, partBodies({ ...row, payloads: [...row.payloads] }, NO_ATTEMPT)),
        ["HSET", db.key(runKey("rn", row.run)), field, content],
      ]);
    }
  },
};
