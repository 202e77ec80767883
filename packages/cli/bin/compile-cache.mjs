import module from "node:module";
import { join } from "node:path";

// The program is read in half the time when it was read before: types stripped, functions compiled. That is kept in the user's own
// cache and not in the system's temporary folder, where others could put something in its place; where it cannot be written,
// only the time is lost. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 says that there is none.
const { NODE_COMPILE_CACHE, XDG_CACHE_HOME, LOCALAPPDATA, HOME } = process.env;
const caches = XDG_CACHE_HOME || LOCALAPPDATA || (HOME && join(HOME, ".cache"));
const folder = NODE_COMPILE_CACHE || (caches && join(caches, "mainspring"));
if (folder) module.enableCompileCache?.(folder);
