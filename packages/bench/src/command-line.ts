import { parseArgs } from "node:util";
import type { ConsoleScale } from "./console/console-run.ts";
import type { Contender } from "./contenders/contender.ts";
import { CONTENDERS } from "./contenders/contenders.ts";
import {
  mainspring,
  mainspringDefault,
  mainspringInside,
  mainspringInsideDefault,
  mainspringSdk,
} from "./contenders/mainspring/mainspring.ts";
import type { Scale, Scenario } from "./scenarios/scenario.ts";
import { SCENARIOS } from "./scenarios/scenarios.ts";
import { POSTGRES_RELEASES, type PostgresRelease } from "./services/postgres-programs.ts";
import { RUNS, type SessionOptions } from "./session.ts";

export interface CommandLine {
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  scale: Scale;
  /** Number of runs; null: as many as each case needs. */
  runs: number | null;
  /** Whether other settings of Mainspring, or of peers, take part in every case, and not only in selected ones. */
  hasVariants: SessionOptions["hasVariants"];
  /** File for the figures; null: none. */
  json: string | null;
  /** Files with earlier figures, in place of a measurement; null: measure. */
  from: readonly string[] | null;
  writesReport: boolean;
  postgres: PostgresRelease;
  /** Tag, branch or commit that this tree is compared with; null: measure this tree and its peers. */
  compare: string | null;
  isNextFire: boolean;
  isSqlSubmit: boolean;
  /** Whether the cost of records in the audit log is measured, and nothing else. */
  isAudit: boolean;
  /** Whether the intake of records of Kafka is measured, and nothing else. */
  isIngest: boolean;
  /** Sizes of the measurement of the web console; null: the command is another one. */
  console: ConsoleScale | null;
}

/** One setting of each peer. */
const QUICK_PEERS = "graphile,pg-boss-2,bullmq-everysec";

/** Forms of Mainspring, by their names on the command line. */
const OURS: ReadonlyMap<string, Contender> = new Map([
  ["tuned", mainspring],
  ["default", mainspringDefault],
  ["sdk", mainspringSdk],
  ["inside", mainspringInside],
  ["inside-default", mainspringInsideDefault],
]);

/** Cases of a comparison. */
const COMPARED = "drain,cycle,submit,pickup";
/** Rows of several pages of a list. */
const CONSOLE_ROWS_MIN = 1_000;
/** Number of pairs of runs in a comparison. */
export const PAIRS = 5;

export const USAGE = `npm run bench -- [options]
npm run bench -- next-fire      how long it takes to work out when a recurring job fires next
npm run bench -- sql-submit     how long submits in transactions of an application take, until their jobs run
npm run bench -- audit          how much CPU a record in the audit log adds to submits, alone and in batches; takes --quick and --postgres
npm run bench -- ingest         how fast a filled topic of Kafka is taken in, with which memory, and what a submit with 202 costs; also --only ingest
npm run bench -- console        the web console in Chromium: its first view, its list of executions, and the CPU that open consoles
                                cost the server; takes --quick, --rows, --consoles, --postgres and --json. --report has the
                                figures of docs/performance/console.json

  --quick             everything small
  --only a,b          of ${SCENARIOS.map(({ name }) => name).join(", ")};
                      default: all but ${SCENARIOS.filter(({ isOnRequest }) => isOnRequest).map(({ name }) => name)}
  --peers a,b | none  of graphile, pg-boss, river, bullmq, or as long as they differ: pg-boss-2, bullmq-always; default: all, their
                      other settings (pg-boss-4, bullmq-always) in drain, submit and pickup; with --quick ${QUICK_PEERS}
  --ours a,b          forms of Mainspring: ${[...OURS.keys()].join(", ")}; default: all, but sdk and inside-default only in
                      drain, submit and pickup
  --runs N            how often each case is run; default ${RUNS}, but less where a run is long, and 1 with --quick
  --backlog N         how many jobs wait for tomorrow in backlog; default 1000000, with --quick 50000
  --herd N            how many jobs are due at one instant in midnight; default 100000, with --quick 10000
                      and how many of one tenant wait, or are due at one instant, in fair
  --tenants N         how many tenants have jobs in fair; default 1000, with --quick 20
  --sleepers N        how many executions sleep in steps; default 100000, with --quick 5000
  --rate N            how many jobs a second are submitted in profiles; default 5000, with --quick 1000
  --compare REF       measures this tree and another commit by turns, in pairs of runs, and prints the ratios of their
                      figures; REF is a tag, a branch or a commit; default of --only: ${COMPARED}; of --runs: ${PAIRS}
  --postgres R        the PostgreSQL of all contenders: ${POSTGRES_RELEASES.join(", ")}; default: system; the others come
                      from npm
  --stored A,B        at which numbers of jobs storage measures the store; default 1000000,10000000, with --quick 10000,40000
  --rows N            how many executions are in the store in console; default 1000000, with --quick 10000
  --consoles N        how many consoles are open in console; default 50
  --json FILE         writes all figures
  --report            writes docs/performance.md and docs/performance/
  --from FILE,FILE    measures nothing, and takes the figures from what --json wrote, put together
`;

/** Error: an option that cannot be used; the message says why, and what there is. */
export class WrongOption extends Error {
  override readonly name = "WrongOption";
}

/**
 * Parses the command line. @returns null: the user asked for the options, and `USAGE` lists them
 * @throws {WrongOption}
 */
export function commandLine(args: readonly string[]): CommandLine | null {
  const { values, positionals } = parsed(args);
  if (values.help) return null;
  if (values.compare !== undefined) refuseBeside("--compare", ["peers", "ours", "json", "report", "from"], values);
  const isQuick = values.quick;
  const isIngest = positionals[0] === "ingest" || values.only === "ingest";
  const only = isIngest ? undefined : values.only;
  return {
    scenarios: scenariosOf(only ?? (values.compare === undefined ? undefined : COMPARED)),
    contenders: [...oursOf(values.ours), ...peersOf(values.peers ?? (isQuick ? QUICK_PEERS : undefined))],
    scale: {
      isQuick,
      backlogJobs: wholeNumber("--backlog", values.backlog ?? (isQuick ? "50000" : "1000000")),
      storedJobs: storedOf(values.stored ?? (isQuick ? "10000,40000" : "1000000,10000000")),
      perSec: wholeNumber("--rate", values.rate ?? (isQuick ? "1000" : "5000")),
      sleepers: wholeNumber("--sleepers", values.sleepers ?? (isQuick ? "5000" : "100000")),
      tenants: wholeNumber("--tenants", values.tenants ?? (isQuick ? "20" : "1000")),
      herdJobs: wholeNumber("--herd", values.herd ?? (isQuick ? "10000" : "100000")),
    },
    runs: runsOf(values.runs, isQuick),
    hasVariants: { ours: values.ours !== undefined, peers: values.peers !== undefined },
    json: values.json ?? null,
    from: values.from?.split(",") ?? null,
    writesReport: values.report,
    postgres: releaseOf(values.postgres),
    compare: values.compare ?? null,
    isNextFire: positionals[0] === "next-fire",
    isSqlSubmit: positionals[0] === "sql-submit",
    isAudit: positionals[0] === "audit",
    isIngest,
    console: positionals[0] === "console" ? consoleScaleOf(values) : null,
  };
}

function consoleScaleOf({ quick: isQuick, rows, consoles }: ReturnType<typeof parsed>["values"]): ConsoleScale {
  const count = wholeNumber("--rows", rows ?? (isQuick ? "10000" : "1000000"));
  if (count < CONSOLE_ROWS_MIN)
    refuse(`--rows: must be at least ${CONSOLE_ROWS_MIN}, because the visit turns pages, not ${count}`);
  return {
    isQuick,
    rows: count,
    consoles: wholeNumber("--consoles", consoles ?? "50"),
  };
}

function storedOf(text: string): [number, number] {
  const sizes = text.split(",").map((part) => wholeNumber("--stored", part));
  const [small = 0, large = 0] = sizes;
  if (sizes.length !== 2 || small >= large) refuse(`--stored: must be a smaller and a larger number, not "${text}"`);
  return [small, large];
}

function releaseOf(text: string): PostgresRelease {
  const found = POSTGRES_RELEASES.find((release) => release === text);
  return found ?? refuse(`--postgres: there is no "${text}"`);
}

function refuseBeside(option: string, others: readonly string[], values: Record<string, unknown>): void {
  const other = others.find((name) => values[name] !== undefined && values[name] !== false);
  if (other !== undefined)
    refuse(`${option} measures trees of Mainspring and prints ratios: it does not go with --${other}`);
}

function runsOf(text: string | undefined, isQuick: boolean): number | null {
  if (text === undefined) return isQuick ? 1 : null;
  return wholeNumber("--runs", text);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string" },
        peers: { type: "string" },
        ours: { type: "string" },
        runs: { type: "string" },
        backlog: { type: "string" },
        herd: { type: "string" },
        tenants: { type: "string" },
        sleepers: { type: "string" },
        rate: { type: "string" },
        stored: { type: "string" },
        rows: { type: "string" },
        consoles: { type: "string" },
        compare: { type: "string" },
        postgres: { type: "string", default: "system" },
        json: { type: "string" },
        report: { type: "boolean", default: false },
        from: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function scenariosOf(names: string | undefined): readonly Scenario[] {
  if (names === undefined) return SCENARIOS.filter(({ isOnRequest }) => isOnRequest !== true);
  return chosen("--only", names, SCENARIOS, (scenario, name) => scenario.name === name);
}

function oursOf(names: string | undefined): readonly Contender[] {
  const all = CONTENDERS.filter(({ isPeer }) => !isPeer);
  return chosen("--ours", names, all, (contender, name) => OURS.get(name) === contender);
}

function peersOf(peers: string | undefined): readonly Contender[] {
  if (peers === "none") return [];
  const all = CONTENDERS.filter(({ isPeer }) => isPeer);
  return chosen("--peers", peers, all, ({ name }, begin) => name.startsWith(begin));
}

function chosen<T>(
  option: string,
  names: string | undefined,
  all: readonly T[],
  isMeant: (item: T, name: string) => boolean,
): readonly T[] {
  if (names === undefined) return all;
  const asked = names.split(",");
  const unknown = asked.find((name) => !all.some((item) => isMeant(item, name)));
  if (unknown !== undefined) refuse(`${option}: there is no "${unknown}"`);
  return all.filter((item) => asked.some((name) => isMeant(item, name)));
}

function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) refuse(`${option}: must be a whole number from 1, not "${text}"`);
  return Number(text);
}

function refuse(why: string): never {
  throw new WrongOption(`${why}\n\n${USAGE}`);
}
