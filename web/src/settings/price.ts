import type { Schemas } from "@/api/client";
import { money } from "@/words/format";

type Priced = Pick<
  Schemas["ModelShape"],
  "is_price_known" | "input_usd_per_million" | "output_usd_per_million"
>;

/** What a model costs, in a sentence. A price that nobody knows is not zero. */
export function priceWords(model: Priced): string {
  if (!model.is_price_known) return "Its price is unknown, so a cost limit cannot be kept with it.";
  const [read, wrote] = [model.input_usd_per_million, model.output_usd_per_million];
  if (Number(read) === 0 && Number(wrote) === 0) return "It costs nothing.";
  return `A million tokens cost ${money(read)} to read and ${money(wrote)} to write.`;
}
