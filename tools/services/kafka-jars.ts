import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installDebianPackage } from "./debian.ts";
import { DOWNLOADS, installOnce } from "./install-once.ts";

const run = promisify(execFile);
const POM = join(import.meta.dirname, "kafka-pom.xml");

/**
 * Folder with the jars of Kafka 4.1 and its dependencies (43 MB). Missing jars are downloaded with Maven, which takes a
 * network and about a minute. The folder is named after the list of dependencies and gets that name when it is complete, so
 * that all clones of a machine share it and concurrent tests do not disturb each other.
 */
export async function kafkaJars(): Promise<string> {
  await requireProgram("java", "default-jre-headless");
  const name = createHash("sha256")
    .update(await readFile(POM))
    .digest("hex")
    .slice(0, 16);
  const folder = join(DOWNLOADS, `kafka-${name}`);
  await installOnce(folder, download);
  return folder;
}

async function download(fresh: string): Promise<void> {
  await requireProgram("mvn", "maven");
  // Maven writes beside its project, so the project is a copy.
  const project = await mkdtemp(join(tmpdir(), "kafka-pom-"));
  try {
    await copyFile(POM, join(project, "pom.xml"));
    const output = [`-DoutputDirectory=${fresh}`, "-DincludeScope=runtime"];
    await run("mvn", ["-q", "-B", "dependency:copy-dependencies", ...output], { cwd: project });
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

async function requireProgram(name: string, debianPackage: string): Promise<void> {
  const isThere = await run(name, ["-version"]).then(
    () => true,
    () => false,
  );
  if (!isThere) await installDebianPackage(debianPackage, `Kafka for tests needs ${name}`);
}
