import { type ServerProcess, startServer } from "./contenders/mainspring/server-process.ts";
import { commandOf, THIS_TREE } from "./contenders/mainspring/source-tree.ts";
import { spreadOf } from "./figures.ts";
import { cpuUsOf, treeCpuUsOf } from "./meter/process-cpu.ts";
import type { Stage } from "./services/stage.ts";

interface AuditCostScale {
  isQuick: boolean;
}

/** Jobs of a request, and requests of a turn of one server, which is long beside a tick of the CPU clock. */
const LOADS = [
  { size: 1_000, requests: 20 },
  { size: 1, requests: 500 },
];
type Load = (typeof LOADS)[number];
const FAR_MS = 86_400_000;

/**
 * Measures the CPU that a record in the audit log adds to submits: two servers on one PostgreSQL, one of which records submits, take turns.
 * Their jobs are due tomorrow, so that nothing else happens.
 */
export async function auditCost({ isQuick }: AuditCostScale, stage: Stage): Promise<void> {
  await using plain = await opened(stage, {});
  await using audited = await opened(stage, { MAINSPRING_AUDIT_SUBMITS: "batch" });
  for (const load of LOADS) {
    const turns = isQuick ? 2 : 40;
    // The first turns compile both servers and open their connections.
    for (const side of [plain, audited, plain, audited]) await turn(side, load);
    const [without, recorded]: [Turn[], Turn[]] = [[], []];
    for (let n = 0; n < turns; n++) {
      const order = n % 2 === 0 ? [plain, audited] : [audited, plain];
      for (const side of order) (side === plain ? without : recorded).push(await turn(side, load));
    }
    report(load, without, recorded);
  }
}

interface Side extends AsyncDisposable {
  server: ServerProcess;
  storePid: number;
}

/** CPU time of a turn, in microseconds a job. */
interface Turn {
  serverUs: number;
  storeUs: number;
}

async function opened(stage: Stage, env: Record<string, string>): Promise<Side> {
  const database = await (await stage.postgres()).database();
  const server = await startServer(commandOf(THIS_TREE), { env: { ...env, MAINSPRING_STORE: database.url } });
  const end = async () => {
    await server[Symbol.asyncDispose]();
    await database.drop();
  };
  return { server, storePid: database.pid, [Symbol.asyncDispose]: end };
}

async function turn({ server, storePid }: Side, { size, requests }: Load): Promise<Turn> {
  const job = { target: { handler: "later" }, payload: { text: "x".repeat(64) }, delayMs: FAR_MS };
  const [path, body] = size === 1 ? ["jobs", job] : ["jobs/batch", { jobs: Array.from({ length: size }, () => job) }];
  const request = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const before = [cpuUsOf(server.pid), treeCpuUsOf(storePid)] as const;
  for (let sent = 0; sent < requests; sent++) {
    const answer = await fetch(`${server.httpUrl}/v1/${path}`, request);
    if (!answer.ok) throw new Error(`a submit answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
  const serverUs = (cpuUsOf(server.pid) - before[0]) / (requests * size);
  return { serverUs, storeUs: (treeCpuUsOf(storePid) - before[1]) / (requests * size) };
}

function report({ size }: Load, without: readonly Turn[], recorded: readonly Turn[]): void {
  const mean = (turns: readonly Turn[], of: (turn: Turn) => number) =>
    turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length;
  const all = ({ serverUs, storeUs }: Turn) => serverUs + storeUs;
  const differences = recorded.map((turn, n) => all(turn) - all(without[n] ?? turn));
  const [base, added] = [mean(without, all), mean(recorded, all) - mean(without, all)];
  const deviation = Math.sqrt(differences.reduce((sum, one) => sum + (one - added) ** 2, 0) / differences.length);
  const side = (turns: readonly Turn[]) =>
    `${mean(turns, ({ serverUs }) => serverUs).toFixed(2)} + ${mean(turns, ({ storeUs }) => storeUs).toFixed(2)}`;
  console.log(
    `requests of ${size} jobs, ${without.length} turns: server + store CPU ${side(without)} µs/job without records, ${side(recorded)} with;`,
    `${((100 * added) / base).toFixed(1)} % more, by ± ${((100 * deviation) / Math.sqrt(differences.length) / base).toFixed(1)} %;`,
    `median difference ${spreadOf(differences).median.toFixed(2)} µs/job`,
  );
}
