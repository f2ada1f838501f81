/** An address that a link from untrusted text may have: http, https or one on this server; else nothing. */
export function safeUrl(url: string): string {
  // Browsers leave out control characters and spaces before they read the scheme: so do we.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is control characters that are meant
  const plain = url.replace(/[\u0000-\u0020\u007f]/g, "");
  if (/^https?:\/\//i.test(plain)) return plain;
  if (/^[/\\]{2}/.test(plain)) return ""; // another host, by this page's scheme
  return /^[^/?#]*:/.test(plain) ? "" : plain;
}
