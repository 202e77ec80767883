import type { Rule } from "./source.ts";
import { isCode } from "./source.ts";

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*([.][a-z0-9]+)*[.](ts|mjs|js|sh)$/;
const DRAWERS = /^(util|utils|helper|helpers|misc|common|shared|lib)$/;

export const kebabCase: Rule = ({ path }) => {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (!isCode(path) || name.startsWith(".") || KEBAB.test(name)) return [];
  return [{ path, line: 1, message: "file names are in kebab-case" }];
};

export const noDrawers: Rule = ({ path }) => {
  const drawer = path.split("/").find((part) => DRAWERS.test(part.replace(/[.][a-z]+$/, "")));
  if (drawer === undefined) return [];
  return [{ path, line: 1, message: `"${drawer}" says nothing: name it by what is in it` }];
};
