import { existsSync } from "node:fs";
import { installDebianPackage } from "../services/debian.ts";

const PROMTOOL = "/usr/bin/promtool";

/**
 * Path of Prometheus' own checker. Debian's package is installed if there is none, which takes a network and some
 * seconds.
 */
export async function promtool(): Promise<string> {
  if (!existsSync(PROMTOOL)) await installDebianPackage("prometheus", "this system has no promtool");
  return PROMTOOL;
}
