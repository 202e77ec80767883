import { parseArgs } from "node:util";
import { campaign } from "./campaign.ts";
import { allMutants, mutantNamed } from "./mutants/all.ts";
import { huntAll } from "./mutants/hunt-all.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { records } from "./mutants/record.ts";
import { rememberedSeeds } from "./seeds.ts";
import { shrinkAndTell } from "./shrinking/shrink-and-tell.ts";
import type { SimulationOptions } from "./simulation.ts";
import type { WayBack } from "./world/going-back.ts";

const USAGE = `Usage: npm run sim -- [--seed N] [--seeds COUNT] [--hours N] [--nodes N] [--workers N] [--jobs N]
       npm run sim -- --failovers           the store loses its last commits now and then, and the servers live on
       npm run sim -- --rewinds             the store moves to a server without its last commits, and nodes notice it later
       npm run sim -- --promotions          the same, where a replica confirms each write before its answer
       npm run sim -- --restores            the store is put back by minutes now and then, and the workers live on
       npm run sim -- --tz-changes          the time zone data changes now and then, to newer and to older releases
       npm run sim -- --seed N --shrink     makes a failing seed smaller, and tells its story
       npm run sim -- --remembered          every seed that ever found something; --newest N: the last N of them
       npm run sim -- --mutant NAME         plants a bug, and tries seeds until it is caught
       npm run sim -- --mutants [--record]  the same with every one there is; writes down the seeds
       npm run sim -- --mutants --recorded  first the recorded seeds, then tests and other seeds; --record writes them down;
                                            --within SEC leaves out records that take more simulated seconds than that
       npm run sim -- --mutants --share N/M one of M shares of them, by N modulo M: M numbers in a row try every one
One seed decides everything else. Exit 0: everything held, and every mutant was caught.
`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "1" },
    hours: { type: "string", default: "1" },
    nodes: { type: "string", default: "3" },
    workers: { type: "string", default: "10" },
    jobs: { type: "string", default: "2000" },
    remembered: { type: "boolean", default: false },
    newest: { type: "string" },
    within: { type: "string" },
    share: { type: "string", default: "0/1" },
    restores: { type: "boolean", default: false },
    failovers: { type: "boolean", default: false },
    rewinds: { type: "boolean", default: false },
    promotions: { type: "boolean", default: false },
    "tz-changes": { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    recorded: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function asked(): SimulationOptions[] {
  if (values.remembered) return rememberedSeeds().slice(-atLeastOne(values.newest));
  const [seed, seeds, hours, nodes, workers, jobs] = [
    values.seed,
    values.seeds,
    values.hours,
    values.nodes,
    values.workers,
    values.jobs,
  ].map(Number) as [number, number, number, number, number, number];
  if (![seed, seeds, nodes, workers, jobs].every(Number.isInteger) || !(hours > 0) || workers < 1 || nodes < 1)
    refuse();
  const ways = waysBack();
  const world = {
    hours,
    nodes,
    workers,
    jobs,
    ...(ways.length > 0 && { waysBack: ways }),
    tzChanges: values["tz-changes"],
  };
  return Array.from({ length: seeds }, (_, index) => ({ seed: seed + index, ...world }));
}

function wantedMutants(): Mutant[] {
  const within = atLeastOne(values.within);
  const isShort = ({ name }: Mutant) => (records().get(name)?.untilSec ?? 0) <= within;
  const [, part, shares] = (/^(\d+)\/(\d+)$/.exec(values.share) ?? refuse()).map(Number) as [number, number, number];
  if (shares < 1) refuse();
  return allMutants.filter((mutant, index) => index % shares === part % shares && isShort(mutant));
}

/** @param text number from 1; undefined: there is no bound */
function atLeastOne(text: string | undefined): number {
  const count = Number(text ?? Number.POSITIVE_INFINITY);
  if (!(count >= 1)) refuse();
  return count;
}

function refuse(): never {
  process.stderr.write(USAGE);
  process.exit(2);
}

function waysBack(): WayBack[] {
  const asked = { RESTORE: values.restores, FAILOVER: values.failovers };
  const ways = { ...asked, REWIND: values.rewinds, PROMOTION: values.promotions };
  return (Object.keys(ways) as WayBack[]).filter((way) => ways[way]);
}

async function run(): Promise<boolean> {
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const replay = values.record ? "REFRESH" : "REPLAY";
  const mode = values.recorded ? replay : values.record ? "RECORD" : "HUNT";
  if (values.mutants) return await huntAll(wantedMutants(), mode, say);
  if (values.mutant !== undefined) return await huntAll([mutantNamed(values.mutant)], mode, say);
  if (!values.shrink) return await campaign(asked(), !values.remembered, say);
  const [options] = asked();
  return options === undefined || (await shrinkAndTell(options, say));
}

if (values.help) process.stdout.write(USAGE);
else process.exitCode = (await run()) ? 0 : 1;
