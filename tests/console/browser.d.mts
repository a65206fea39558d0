// Functions that the tests pass to Playwright run in a browser. A library is known in all files, not only here: lint's `no-undef`
// is what refuses names such as `name` and `status` elsewhere.
/// <reference lib="dom" />

/** Of a response, which the library types as `any`. */
interface Body {
  json(): Promise<unknown>;
}
