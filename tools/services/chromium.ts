import { existsSync } from "node:fs";
import { installDebianPackage } from "./debian.ts";

const PROGRAM = "/usr/bin/chromium";

/** Switches of a Chromium for tests: it has no window, and asks no server of its makers for anything. */
export const CHROMIUM_SWITCHES = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** Path of Chromium, which is installed first if this system has none. */
export async function chromium(): Promise<string> {
  if (!existsSync(PROGRAM)) await installDebianPackage("chromium", "this system has no Chromium");
  return PROGRAM;
}
