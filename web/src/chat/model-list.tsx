import { Command } from "cmdk";
import { Check } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Schemas } from "@/api/client";
import { matched } from "@/ui/match";
import { Loading, ProblemNotice } from "@/ui/states";
import { UNKNOWN } from "@/words/format";
import { useModels } from "./model-queries";
import { isModelName, type Player, sharedOnce } from "./models";

type ModelListProps = { chosen: string; onChoose: (model: string) => void };

export default function ModelList({ chosen, onChoose }: ModelListProps) {
  const models = useModels();
  const [typed, setTyped] = useState("");
  if (models.isPending) return <Loading />;
  if (models.isError) return <ProblemNotice error={models.error} onRetry={() => void models.refetch()} />;
  const { configured, built_in, providers, playground } = models.data;
  const { shared, players } = sharedOnce(playground);
  const usable = providers.filter((one) => one.is_usable);
  const missing = providers.filter((one) => !one.is_usable);
  return (
    <Command label="Models" className="text-sm" filter={matched} loop>
      <Command.Input
        autoFocus
        value={typed}
        onValueChange={setTyped}
        placeholder="Find one, or write provider:model"
        className="mb-2 h-10 w-full rounded-control border border-line-strong bg-panel px-3 placeholder:text-ink-faint"
      />
      {/* Beside the list and not in it: a list has entries only. */}
      <Command.Empty className="p-3 text-ink-soft">
        No such model here. A provider's is written as provider:model.
      </Command.Empty>
      <Command.List>
        {isModelName(typed.trim()) && (
          <Group heading="As written">
            <Row
              value={typed.trim()}
              title={typed.trim()}
              onSelect={() => onChoose(typed.trim())}
              isChosen={false}
            />
          </Group>
        )}
        <Group heading="Models">
          <ModelRow
            model={configured}
            about="as configured"
            isChosen={chosen === ""}
            onSelect={() => onChoose("")}
          />
          {built_in.name !== configured.name && (
            <ModelRow
              model={built_in}
              about="built in, needs no key"
              isChosen={chosen === built_in.name}
              onSelect={() => onChoose(built_in.name)}
            />
          )}
        </Group>
        {usable.length > 0 && (
          <Group heading="Providers">
            {usable.map((one) => (
              <ProviderRow key={one.name} provider={one} onSelect={() => setTyped(`${one.name}:`)} />
            ))}
          </Group>
        )}
        <Group
          heading="Playground"
          lead={`Agents that try to run for ever, to watch them being stopped. ${shared} Prices are made up.`}
        >
          {players.map((one) => (
            <PlayerRow
              key={one.name}
              player={one}
              isChosen={chosen === one.name}
              onSelect={() => onChoose(one.name)}
            />
          ))}
        </Group>
        {missing.length > 0 && (
          <Group heading="Providers that lack something">
            {missing.map((one) => (
              <ProviderRow key={one.name} provider={one} onSelect={() => undefined} />
            ))}
          </Group>
        )}
      </Command.List>
    </Command>
  );
}

function Group({ heading, lead, children }: { heading: string; lead?: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={
        <span className="block px-2.5 pt-3 pb-1">
          <span className="block text-xs font-semibold text-ink">{heading}</span>
          {lead && <span className="block text-xs text-ink-faint">{lead}</span>}
        </span>
      }
    >
      {children}
    </Command.Group>
  );
}

function Row(props: {
  value: string;
  title: string;
  aside?: string;
  about?: string;
  isChosen: boolean;
  isDisabled?: boolean;
  onSelect: () => void;
}) {
  return (
    <Command.Item
      value={props.value}
      keywords={[props.title, props.aside ?? "", props.about ?? ""]}
      disabled={props.isDisabled ?? false}
      onSelect={props.onSelect}
      className="flex cursor-default items-start gap-2 rounded-control px-2.5 py-1.5 data-[disabled=true]:text-ink-faint data-[selected=true]:bg-accent-soft"
    >
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className="font-medium break-all">{props.title}</span>
          {props.aside && <span className="text-xs text-ink-faint">{props.aside}</span>}
        </span>
        {props.about && <span className="block text-xs text-ink-soft break-words">{props.about}</span>}
      </span>
      {props.isChosen && <Check aria-label="chosen" className="mt-0.5 size-4 shrink-0 text-accent" />}
    </Command.Item>
  );
}

function ModelRow(props: {
  model: Schemas["ModelShape"];
  about: string;
  isChosen: boolean;
  onSelect: () => void;
}) {
  const { model } = props;
  return (
    <Row
      value={`model ${model.name}`}
      title={model.name}
      aside={props.about}
      about={model.is_usable ? priceWords(model) : model.to_do}
      isDisabled={!model.is_usable}
      isChosen={props.isChosen}
      onSelect={props.onSelect}
    />
  );
}

function ProviderRow({ provider, onSelect }: { provider: Schemas["ProviderShape"]; onSelect: () => void }) {
  return (
    <Row
      value={`provider ${provider.name}`}
      title={provider.name}
      about={provider.is_usable ? `Write the name of its model: ${provider.name}:…` : provider.to_do}
      isDisabled={!provider.is_usable}
      isChosen={false}
      onSelect={onSelect}
    />
  );
}

function PlayerRow(props: { player: Player; isChosen: boolean; onSelect: () => void }) {
  const { name, title, about, ends } = props.player;
  return (
    <Row
      value={name}
      title={title}
      about={`${about} How it ends: ${ends.slice(0, 1).toLowerCase()}${ends.slice(1)}`}
      isChosen={props.isChosen}
      onSelect={props.onSelect}
    />
  );
}

function priceWords(model: Schemas["ModelShape"]): string {
  const { input_usd_per_million: read, output_usd_per_million: wrote } = model;
  if (!model.is_price_known || read === null || wrote === null) return `price ${UNKNOWN}`;
  if (Number(read) === 0 && Number(wrote) === 0) return "costs nothing";
  return `$${Number(read)} per million tokens read, $${Number(wrote)} written`;
}
