import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { linksLead } from "./tidy/link-rule.ts";
import { noDrawers } from "./tidy/name-rules.ts";
import { plainWords } from "./tidy/plain-words.ts";
import { functionLength } from "./tidy/size-rules.ts";
import type { Rule, Source } from "./tidy/source.ts";
import { importsNameFiles, noBareDate } from "./tidy/syntax-rules.ts";
import { tenantsFromCredentials } from "./tidy/tenant-rule.ts";
import { noTestLeftOut, testsAssert } from "./tidy/test-rules.ts";
import { words } from "./tidy/word-rules.ts";

/** Checks conventions that no other tool knows. Run from the root of the repository; exits with 1 if one is broken. */

const RULES: Rule[] = [
  functionLength,
  noDrawers,
  words,
  plainWords,
  noBareDate,
  importsNameFiles(existsSync),
  noTestLeftOut,
  testsAssert,
  tenantsFromCredentials,
  linksLead((path) => (path.endsWith(".md") && existsSync(path) ? readFileSync(path, "utf8") : existsSync(path))),
];

/** Generated files, and files whose wording is not ours. */
const NOT_OURS =
  /(^|\/)src\/gen\/|^packages\/proto\/opentelemetry\/|^(LICENSE|package-lock[.]json)$|[.](png|svg|ico|gz|tgz)$/;

function repositoryFiles(): Source[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).toString();
  const paths = listed.split("\0").filter((path) => path !== "" && !NOT_OURS.test(path) && existsSync(path));
  return paths.map((path) => ({ path, text: readFileSync(path, "utf8") }));
}

const sources = repositoryFiles();
const findings = sources.flatMap((source) => RULES.flatMap((rule) => rule(source)));
for (const { path, line, message } of findings) console.error(`${path}:${line}  ${message}`);
if (findings.length > 0) process.exitCode = 1;
console.log(`tidy: ${sources.length} files, ${findings.length} findings`);
