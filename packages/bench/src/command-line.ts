import { parseArgs } from "node:util";
import type { Contender } from "./contenders/contender.ts";
import { CONTENDERS } from "./contenders/contenders.ts";
import type { Scale, Scenario } from "./scenarios/scenario.ts";
import { SCENARIOS } from "./scenarios/scenarios.ts";
import { RUNS } from "./session.ts";

export interface CommandLine {
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  scale: Scale;
  /** null: as often as each case needs. */
  runs: number | null;
  /** Whether other settings of peers take part in every case, and not only where they are of interest. */
  hasVariants: boolean;
  /** Where the figures are written to. */
  json: string | null;
  /** Files with figures that were written earlier; nothing is measured then. */
  from: readonly string[] | null;
  writesReport: boolean;
  isNextFire: boolean;
}

/** One of each. */
const QUICK_PEERS = "graphile,pg-boss-2,bullmq-everysec";

const USAGE = `npm run bench -- [options]
npm run bench -- next-fire      how long it takes to work out when a recurring job fires next

  --quick             everything small: ten minutes at most
  --only a,b          of ${SCENARIOS.map(({ name }) => name).join(", ")};
                      default: all but ${SCENARIOS.filter(({ isOnRequest }) => isOnRequest).map(({ name }) => name)}
  --peers a,b | none  of graphile, pg-boss, bullmq, or as long as they differ: pg-boss-2, bullmq-always; default: all, their
                      other settings (pg-boss-4, bullmq-always) in drain, submit and pickup; with --quick ${QUICK_PEERS}
  --runs N            how often each case is run; default ${RUNS}, but less where a run is long, and 1 with --quick
  --backlog N         how many jobs wait for tomorrow in backlog; default 1000000
  --json FILE         writes all figures
  --report            writes docs/performance.md and docs/performance/
  --from FILE,FILE    measures nothing, and takes the figures from what --json wrote, put together
`;

/** Ends the process with what would be right where an option makes no sense. */
export function commandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parsed(args);
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const isQuick = values.quick;
  return {
    scenarios: scenariosOf(values.only),
    contenders: contendersOf(values.peers ?? (isQuick ? QUICK_PEERS : undefined)),
    scale: { isQuick, backlogJobs: wholeNumber("--backlog", values.backlog) },
    runs: runsOf(values.runs, isQuick),
    hasVariants: values.peers !== undefined,
    json: values.json ?? null,
    from: values.from?.split(",") ?? null,
    writesReport: values.report,
    isNextFire: positionals[0] === "next-fire",
  };
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
        runs: { type: "string" },
        backlog: { type: "string", default: "1000000" },
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

function contendersOf(peers: string | undefined): readonly Contender[] {
  const ours = CONTENDERS.filter(({ isPeer }) => !isPeer);
  if (peers === "none") return ours;
  const theirs = CONTENDERS.filter(({ isPeer }) => isPeer);
  return [...ours, ...chosen("--peers", peers, theirs, ({ name }, begin) => name.startsWith(begin))];
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
  console.error(`${why}\n\n${USAGE}`);
  process.exit(2);
}
