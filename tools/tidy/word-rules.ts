import type { Finding, Rule } from "./source.ts";

interface Word {
  pattern: RegExp;
  message: string;
}

// Words are written so that no pattern matches this file.
const WORDS: Word[] = [
  { pattern: /\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b/, message: "finish it, or describe it where work is planned" },
  { pattern: /(?<![\w.-])\/wor[k]\//, message: "a path of one machine" },
  { pattern: /registry[.]npmj[s][.]org|registry[.]yarnpk[g][.]com/, message: "a registry's host" },
  {
    pattern: /\b(npx|npm (i|install|exec)|pnpm (add|dlx))( -\S+)* mainsprin[g](?![\w/-])/,
    message: "the npm package of this name is somebody else's; the command is @mainspring/cli",
  },
  { pattern: /\bissues? #\d+/i, message: "say it here: a reader of the code has no list of issues" },
  { pattern: /\b(Claud[e]|Anthropi[c]|ChatGP[T]|Copilo[t])\b/i, message: "does not belong here" },
];

export const words: Rule = ({ path, text }) => {
  const findings: Finding[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    for (const { pattern, message } of WORDS) {
      const found = pattern.exec(line);
      if (found) findings.push({ path, line: index + 1, message: `"${found[0]}": ${message}` });
    }
  }
  return findings;
};
