import { render } from "preact";
import { App } from "./app.tsx";
import { keepPreferences } from "./state/preferences.ts";
import { followAddress } from "./state/route.ts";
import { lookIn } from "./state/session.ts";

keepPreferences();
followAddress();
void lookIn();
const place = document.getElementById("console");
if (place !== null) render(<App />, place);
