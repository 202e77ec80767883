import type { Finding, Rule } from "./source.ts";

interface Word {
  pattern: RegExp;
  message: string;
}

// Written so that no pattern matches this file.
const WORDS: Word[] = [
  { pattern: /\b(TO[D]O|FIXM[E]|XX[X]|HAC[K])\b/, message: "finish it, or describe it where work is planned" },
  { pattern: /@ts-(ignor[e]|nochec[k])/, message: "mend the type; where a test must break one, @ts-expect-error" },
  { pattern: /(?<![\w.-])\/wor[k]\//, message: "a path of one machine" },
  { pattern: /registry[.]npmj[s][.]org|registry[.]yarnpk[g][.]com/, message: "a registry's host" },
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
