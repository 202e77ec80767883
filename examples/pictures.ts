import { type Client, type Priority, task } from "@mainspring/sdk";

/** Does something with a picture, and says where the outcome lies. An application has its own. */
export interface Studio {
  shrink(picture: string, width: number): Promise<string>;
  upscale(picture: string): Promise<string>;
}

/** Shrinking is for any worker; what enlarges wants a graphics card, which few workers have. */
export function pictureTasks(studio: Studio) {
  const shrink = task({
    name: "shrink",
    run: ({ picture, width }: { picture: string; width: number }) => studio.shrink(picture, width),
  });
  const upscale = task({
    name: "upscale",
    retry: { maxAttempts: 2, backoff: "FIXED", initialDelayMs: 5_000 },
    run: ({ picture }: { picture: string }) => studio.upscale(picture),
  });
  return { shrink, upscale };
}

export const POOL = "pictures";
const WIDTHS = [160, 640, 1280];

/**
 * A user who has just uploaded a picture waits at the screen, so that job goes first. The nightly renewal of all
 * pictures comes last, and still comes: a level of priority is a head start in time, so no job waits for ever.
 * @returns the jobs, in the order of what they make: the sizes, then the enlarged one
 */
export async function process(
  client: Client,
  { shrink, upscale }: ReturnType<typeof pictureTasks>,
  picture: string,
  priority: Priority,
) {
  const small = WIDTHS.map((width) => shrink.submit(client, { picture, width }, { pool: POOL, priority }));
  const large = upscale.submit(client, { picture }, { pool: POOL, priority, requires: ["gpu"] });
  return Promise.all([...small, large]);
}
