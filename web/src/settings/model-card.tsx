import type { Schemas } from "@/api/client";
import { useModels } from "@/chat/model-queries";
import { Badge } from "@/ui/badge";
import { Card } from "@/ui/card";
import { Loading, ProblemNotice } from "@/ui/states";
import { plural } from "@/words/format";
import { priceWords } from "./price";

/** What answers, what it costs, and what else could be used. */
export function ModelCard() {
  const models = useModels();
  return (
    <Card title="Model">
      {models.isPending && <Loading what="Looking for models" />}
      {models.isError && <ProblemNotice error={models.error} onRetry={() => void models.refetch()} />}
      {models.data && <Models models={models.data} />}
    </Card>
  );
}

function Models({ models }: { models: Schemas["ModelsShape"] }) {
  const { configured, built_in, providers } = models;
  const usable = providers.filter((one) => one.is_usable);
  const others = providers.filter((one) => !one.is_usable);
  return (
    <div className="space-y-3 text-sm">
      <Model model={configured} about="Answers your questions, unless you choose another in the chat." />
      {built_in.name !== configured.name && (
        <Model model={built_in} about="Is built in: needs no key, and nothing leaves this machine." />
      )}
      {built_in.name === configured.name && (
        <p className="text-ink-soft">
          It is built in: it needs no key, and nothing leaves this machine. It quotes what it finds and does
          not think. For a model that does, give a provider its key, then start the server with{" "}
          <code className="font-mono text-xs text-ink">ENDSTOP_MODEL=provider:model</code>.
        </p>
      )}
      <p className="text-ink-soft">
        {usable.length === 0 ? "No provider has what it needs yet." : "Providers that can be used: "}
        {usable.length > 0 && <span className="text-ink">{usable.map((one) => one.name).join(", ")}.</span>}
      </p>
      {others.length > 0 && (
        <details>
          <summary className="cursor-pointer rounded py-1 font-medium text-ink-soft hover:text-ink">
            {plural(others.length, "more provider")}, and what is missing
          </summary>
          <ul className="mt-2 grid gap-x-6 gap-y-2 md:grid-cols-2">
            {others.map((one) => (
              <li key={one.name} className="min-w-0 break-words">
                <span className="font-medium">{one.name}</span>
                <span className="block text-ink-soft">{one.to_do}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Model({ model, about }: { model: Schemas["ModelShape"]; about: string }) {
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium break-all">{model.name}</span>
        <Badge tone={model.is_usable ? "good" : "stop"}>
          {model.is_usable ? "Can be used" : "Cannot be used yet"}
        </Badge>
      </div>
      <p className="text-ink-soft">{about}</p>
      <p className="text-ink-soft">{model.is_usable ? priceWords(model) : model.to_do}</p>
    </div>
  );
}
