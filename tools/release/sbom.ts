import { execFileSync } from "node:child_process";
import { PUBLISHED } from "../pack/published.ts";

/**
 * The software bill of materials of the published packages and of all that is installed with them, by the lockfile: CycloneDX, as JSON.
 * @param name name of the product in it
 */
export function billOfMaterials(root: string, name: string): string {
  // Without `--omit dev`: npm would also leave out what a package needs and another one has for its tests alone.
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--loglevel", "error"];
  const workspaces = PUBLISHED.flatMap((folder) => ["--workspace", `packages/${folder}`]);
  const printed = execFileSync("npm", [...args, ...workspaces], { cwd: root, stdio: ["ignore", "pipe", 2] });
  const bill = JSON.parse(printed.toString()) as { metadata: { component: { name: string } } };
  // npm takes the name of the folder.
  bill.metadata.component.name = name;
  return `${JSON.stringify(bill, null, 2)}\n`;
}
