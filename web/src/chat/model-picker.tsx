import { ChevronDown, Cpu, FlaskConical } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Loading } from "@/ui/states";
import { useModels } from "./model-queries";
import { isPlayer, shortName } from "./models";

const ModelList = lazy(() => import("./model-list"));

type ModelPickerProps = {
  /** Empty for the configured one. */
  chosen: string;
  onChoose: (model: string) => void;
  onClosed: () => void;
};

/** Which model the next question is for. */
export function ModelPicker({ chosen, onChoose, onClosed }: ModelPickerProps) {
  const [isOpen, setOpen] = useState(false);
  const models = useModels();
  const name = chosen || models.data?.configured.name;
  const isBuiltIn = name !== undefined && name === models.data?.built_in.name;
  const label = isBuiltIn ? "Built in, no language model" : name ? shortName(name) : "Model …";
  const Icon = isPlayer(chosen) ? FlaskConical : Cpu;
  const choose = (model: string) => {
    onChoose(model);
    setOpen(false);
  };
  return (
    <>
      <Button
        look="ghost"
        size="small"
        className="min-w-0"
        aria-haspopup="dialog"
        title="Choose a model"
        onClick={() => setOpen(true)}
      >
        <Icon aria-hidden className="size-3.5 shrink-0" />
        <span className="sr-only">Model: </span>
        <span className="truncate">{label}</span>
        {isPlayer(chosen) && <span className="text-ink-faint max-sm:hidden">playground</span>}
        <ChevronDown aria-hidden className="size-3.5 shrink-0" />
      </Button>
      <Dialog title="Choose a model" isOpen={isOpen} onOpenChange={setOpen} onClosed={onClosed} isWide>
        <Suspense fallback={<Loading />}>
          <ModelList chosen={chosen} onChoose={choose} />
        </Suspense>
      </Dialog>
    </>
  );
}
