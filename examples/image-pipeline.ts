import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Ref, TerminalError, task, workflow } from "@mainspring/sdk";

/** Width and height of a thumbnail, in pixels. */
const THUMBNAIL = 16;
/** Number of thumbnails in a row of the contact sheet. */
const ROW = 40;
/** Number of images that are made smaller at a time. */
const AT_ONCE = 50;
const NAME = /^[\w-]+[.]ppm$/;
/** Head of a binary PPM (three bytes a pixel) or PGM (one). */
const HEAD = /^P([56])\s+(\d+)\s+(\d+)\s+255\s/;

/** Image in grey: one byte a pixel. */
interface Grey {
  width: number;
  height: number;
  pixels: Uint8Array;
}

/** Lists the images of a folder that all workers share. Only names travel: a result has at most 1 MiB. */
const listImages = task({
  name: "list-images",
  run: async ({ folder }: { folder: string }) => {
    const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
    if (names.length === 0) throw new TerminalError(`there are no .ppm files in ${folder}`);
    return { names };
  },
});

/** Makes one image small and grey. A repeat writes the same file. */
const makeThumbnail = task({
  name: "make-thumbnail",
  timeoutSec: 60,
  retry: { maxAttempts: 3, backoff: "EXPONENTIAL", initialDelayMs: 1_000, jitter: false },
  run: async ({ folder, name }: { folder: string; name: string }, ctx) => {
    const image = greyOf(await readFile(join(folder, name)));
    // Another attempt does not change a file that is broken.
    if (image === null) throw new TerminalError(`${name} is no PPM image, or a part of it is missing`);
    const small = shrunk(image);
    const file = join("thumbnails", name.replace(/ppm$/, "pgm"));
    await written(join(folder, file), ctx.attempt, small);
    const brightness = Math.round(small.pixels.reduce((sum, pixel) => sum + pixel, 0) / small.pixels.length);
    return { file, width: image.width, height: image.height, brightness };
  },
});

type Thumbnail = { file: string; width: number; height: number; brightness: number };

/** Puts all thumbnails on one sheet, and names the files that were broken. */
const makeSheet = task({
  name: "make-contact-sheet",
  timeoutSec: 600,
  run: async ({ folder, names, thumbnails }: Sheet, ctx) => {
    const rows = Math.ceil(names.length / ROW);
    const sheet = blank(Math.min(names.length, ROW) * THUMBNAIL, rows * THUMBNAIL);
    for (const [place, thumbnail] of thumbnails.entries()) {
      ctx.signal.throwIfAborted();
      if (thumbnail === null) continue;
      const small = greyOf(await readFile(join(folder, thumbnail.file)));
      if (small !== null) put(sheet, small, (place % ROW) * THUMBNAIL, Math.floor(place / ROW) * THUMBNAIL);
    }
    const file = join(folder, "contact-sheet.pgm");
    await written(file, ctx.attempt, sheet);
    const done = thumbnails.filter((thumbnail) => thumbnail !== null);
    const brightest = done.reduce((best, one) => (one.brightness > best.brightness ? one : best), done[0] ?? NONE);
    return { file, images: done.length, broken: names.filter((_, place) => thumbnails[place] === null), brightest };
  },
});

interface Sheet {
  folder: string;
  names: string[];
  /** In the order of the names; null: the image is broken. */
  thumbnails: (Thumbnail | null)[];
}

const NONE: Thumbnail = { file: "", width: 0, height: 0, brightness: 0 };

/**
 * Makes every image of a folder small and grey, and then a sheet with all of them: a map over the images, of which some may be
 * broken, and a node that gets the results of all items.
 */
export const imagePipeline = workflow(
  "image-pipeline",
  { timeoutSec: 3_600 },
  (w, { folder }: Ref<{ folder: string }>) => {
    const { names } = w.node("list", listImages, { folder });
    const options = { maxRunning: AT_ONCE, tolerate: { failures: 5 } };
    const thumbnails = w.map("thumbnails", makeThumbnail, names, (name) => ({ folder, name }), options);
    return w.node("sheet", makeSheet, { folder, names, thumbnails });
  },
);

/** Writes images with a coloured pattern, 0000.ppm and so on, and cuts some of them short. */
export async function makeImages(folder: string, count: number, broken: readonly number[] = []): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (let number = 0; number < count; number++) {
    const image = pattern(number);
    const name = `${String(number).padStart(4, "0")}.ppm`;
    await writeFile(join(folder, name), broken.includes(number) ? image.subarray(0, image.length / 2) : image);
  }
}

function pattern(number: number): Buffer {
  const [width, height] = [48 + (number % 17), 32 + (number % 13)];
  const head = Buffer.from(`P6\n${width} ${height}\n255\n`);
  const pixels = Buffer.alloc(width * height * 3, 0);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    pixels.set([(x * 5 + number) % 256, (y * 7 + number) % 256, ((x ^ y) * 3) % 256], 3 * pixel);
  }
  return Buffer.concat([head, pixels]);
}

/** Image of a PPM or PGM file in grey; null: the file is neither, or too short. */
function greyOf(file: Buffer): Grey | null {
  const [head = "", form, ...sides] = HEAD.exec(file.toString("latin1", 0, 64)) ?? [];
  const [width = 0, height = 0] = sides.map(Number);
  const colours = form === "6" ? 3 : 1;
  const size = width * height;
  const bytes = file.subarray(head.length);
  if (size === 0 || bytes.length < size * colours) return null;
  if (colours === 1) return { width, height, pixels: bytes.subarray(0, size) };
  const [red, green, blue] = [0.299, 0.587, 0.114];
  const grey = (at: number) => red * (bytes[at] ?? 0) + green * (bytes[at + 1] ?? 0) + blue * (bytes[at + 2] ?? 0);
  return { width, height, pixels: Uint8Array.from({ length: size }, (_, pixel) => Math.round(grey(3 * pixel))) };
}

/** Image in the size of a thumbnail: each pixel is the mean of the pixels in its place. */
function shrunk({ width, height, pixels }: Grey): Grey {
  const small = blank(THUMBNAIL, THUMBNAIL);
  const edge = (step: number, length: number) => Math.floor((step * length) / THUMBNAIL);
  for (let y = 0; y < THUMBNAIL; y++) {
    for (let x = 0; x < THUMBNAIL; x++) {
      let [sum, count] = [0, 0];
      const [right, bottom] = [
        Math.max(edge(x + 1, width), edge(x, width) + 1),
        Math.max(edge(y + 1, height), edge(y, height) + 1),
      ];
      for (let row = edge(y, height); row < bottom; row++) {
        for (let column = edge(x, width); column < right; column++, count++) sum += pixels[row * width + column] ?? 0;
      }
      small.pixels[y * THUMBNAIL + x] = Math.round(sum / count);
    }
  }
  return small;
}

function blank(width: number, height: number): Grey {
  return { width, height, pixels: new Uint8Array(width * height) };
}

function put(sheet: Grey, image: Grey, left: number, top: number): void {
  for (let row = 0; row < image.height; row++) {
    const line = image.pixels.subarray(row * image.width, (row + 1) * image.width);
    sheet.pixels.set(line, (top + row) * sheet.width + left);
  }
}

/** Writes a PGM file under another name first, so that no reader sees a part of it. */
async function written(path: string, attempt: number, { width, height, pixels }: Grey): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(`${path}.${attempt}`, Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), pixels]));
  await rename(`${path}.${attempt}`, path);
}
