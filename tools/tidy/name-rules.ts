import type { Rule } from "./source.ts";

const DRAWERS = /^(util|utils|helper|helpers|misc|common|shared|lib)$/;

export const noDrawers: Rule = ({ path }) => {
  const drawer = path.split("/").find((part) => DRAWERS.test(part.replace(/[.][a-z]+$/, "")));
  if (drawer === undefined) return [];
  return [{ path, line: 1, message: `"${drawer}" says nothing: name it by what is in it` }];
};
