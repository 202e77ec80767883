import { mainspring } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { bytesAt, formulaOf, lineThrough, type Point } from "./extrapolation.ts";
import type { Scenario } from "./scenario.ts";

const EXTRAPOLATED = 100_000_000;
/** Number of jobs between two recounts. */
const PORTION = 200_000;
const GIB = 1_073_741_824;

export const storage: Scenario = {
  name: "storage",
  isOnRequest: true,
  about: `Jobs with a payload of a few bytes run, and their history stays. The database is measured (tables and indexes, after \`VACUUM (ANALYZE)\`) at two numbers of jobs, a and b. The size with ${EXTRAPOLATED.toLocaleString("en")} jobs is extrapolated by the straight line through both: bytes(n) = bytes(a) + (bytes(b) − bytes(a)) / (b − a) × (n − a).`,
  cases: ({ storedJobs: [small, large] }) => [
    {
      name: `storage-${small / 1_000}k-${large / 1_000}k`,
      title: `storage of ${small.toLocaleString("en")} and ${large.toLocaleString("en")} finished jobs`,
      runsMax: 1,
      contenders: [mainspring],
      measure: async (contender, stage) => {
        await using course = await Course.warm(contender, stage);
        const line = lineThrough(await sizeWith(course, small), await sizeWith(course, large));
        console.log(`  ${formulaOf(line, EXTRAPOLATED)}`);
        return { bytesPerJob: line.bytesPerJob, extrapolatedGiB: bytesAt(line, EXTRAPOLATED) / GIB };
      },
    },
  ],
};

/** Runs jobs until the store has this number, with those of the warm-up. */
async function sizeWith(course: Course, jobs: number): Promise<Point> {
  const { rig } = course;
  if (!(rig instanceof MainspringRig)) throw new Error("only Mainspring's store is measured");
  while (course.jobsBefore < jobs) {
    const portion = Math.min(PORTION, jobs - course.jobsBefore);
    await rig.worker.expect(portion);
    await prefill(rig, portion);
    await course.finished(portion);
    await course.verified(portion);
  }
  await rig.vacuum("FRESH");
  return { jobs: course.jobsBefore, bytes: await rig.storedBytes() };
}
