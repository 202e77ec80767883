import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installDebianPackage } from "./debian.ts";
import { DOWNLOADS, installOnce } from "./install-once.ts";

const run = promisify(execFile);
const POM = join(import.meta.dirname, "kafka-pom.xml");

/** Version of Kafka in the list of dependencies. */
const VERSION = "<version>4.1.0</version>";

/**
 * Folder with the jars of a Kafka and its dependencies (43 MB). Missing jars are downloaded with Maven, which takes a
 * network and about a minute. The folder is named after the list of dependencies and gets that name when it is complete, so
 * that all clones of a machine share it and concurrent tests do not disturb each other.
 * @param version of Kafka; null: 4.1.0
 */
export async function kafkaJars(version: string | null): Promise<string> {
  await requireProgram("java", "default-jre-headless");
  const list = await readFile(POM, "utf8");
  const pom = version === null ? list : list.replace(VERSION, `<version>${version}</version>`);
  const name = createHash("sha256").update(pom).digest("hex").slice(0, 16);
  const folder = join(DOWNLOADS, `kafka-${name}`);
  await installOnce(folder, (fresh) => download(fresh, pom));
  return folder;
}

async function download(fresh: string, pom: string): Promise<void> {
  await requireProgram("mvn", "maven");
  // Maven writes beside its project, so the project is a copy.
  const project = await mkdtemp(join(tmpdir(), "kafka-pom-"));
  try {
    await writeFile(join(project, "pom.xml"), pom);
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
