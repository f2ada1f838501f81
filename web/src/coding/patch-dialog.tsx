import { Download } from "lucide-react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy-button";
import { Dialog } from "@/ui/dialog";

const MOST_SHOWN_CHARS = 50_000;

type PatchDialogProps = { runId: string; patch: string | null; onClose: () => void };

/** The work as a text for `git apply`: to copy, or to download. Nothing is changed by it. */
export function PatchDialog({ runId, patch, onClose }: PatchDialogProps) {
  return (
    <Dialog
      title="The work as a patch"
      description="Apply it with git apply. The session stays as it is, to be accepted or discarded."
      isOpen={patch !== null}
      onOpenChange={(isOpen) => !isOpen && onClose()}
      isWide
    >
      {patch !== null && (
        <>
          <div className="mb-2 flex flex-wrap items-center gap-2">
            <Button look="primary" onClick={() => download(patch, `${runId}.patch`)}>
              <Download aria-hidden className="size-4" />
              Download
            </Button>
            <CopyButton label="Copy it" text={() => patch} />
          </div>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard must reach it
            tabIndex={0}
            className="max-h-[45vh] overflow-auto rounded-control border border-line bg-canvas p-3 font-mono text-xs whitespace-pre"
          >
            {patch.slice(0, MOST_SHOWN_CHARS)}
          </pre>
          {patch.length > MOST_SHOWN_CHARS && (
            <p className="mt-1 text-xs text-ink-soft">Its beginning. All of it is in the download.</p>
          )}
        </>
      )}
    </Dialog>
  );
}

function download(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/x-patch" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^A-Za-z0-9_.-]/g, "_");
  link.click();
  // The browser has taken hold of it by then; what is never given back is kept until the page is closed.
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
