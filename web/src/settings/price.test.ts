import { expect, it } from "vitest";
import { priceWords } from "./price";

it.each([
  [true, "3.00", "15.00", "A million tokens cost $3.00 to read and $15.00 to write."],
  [true, "0", "0", "It costs nothing."],
  [false, null, null, "Its price is unknown, so a cost limit cannot be kept with it."],
])("a price (known: %s, %s, %s) in words", (isKnown, read, wrote, words) => {
  const model = { is_price_known: isKnown, input_usd_per_million: read, output_usd_per_million: wrote };
  expect(priceWords(model)).toBe(words);
});
