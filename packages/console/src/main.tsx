import { render } from "preact";
import { App } from "./app.tsx";
import { keepPreferences } from "./state/preferences.ts";
import { followAddress } from "./state/route.ts";
import { lookIn } from "./state/session.ts";

keepPreferences();
followAddress();
void lookIn();
const place = document.getElementById("console");
// The first render is a task of its own, because the evaluation of the modules takes most of the time that one task may have.
if (place !== null) setTimeout(() => render(<App />, place));
