/** Characters that a terminal interprets, or that change the direction of writing, except line feeds. */
// oxlint-disable-next-line no-control-regex -- tests look for control characters
export const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
