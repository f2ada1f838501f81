import { keyHeaders } from "@/api/key";
import { problemOf } from "@/api/problem";

/** Download the record, as it is kept. A plain link would come without the page's key. */
export async function downloadRecord(runId: string): Promise<void> {
  const response = await fetch(`/api/runs/${encodeURIComponent(runId)}/export`, { headers: keyHeaders() });
  if (!response.ok) throw problemOf(response.status, await response.json().catch(() => null));
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = `${runId.replace(/[^A-Za-z0-9_.-]/g, "_")}.jsonl`;
  link.click();
  // The browser has taken hold of it by then; what is never given back is kept until the page is closed.
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
