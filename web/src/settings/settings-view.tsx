import { Page } from "@/ui/page";
import { AccountCard, ThemeCard } from "./account-cards";
import { AgentSettings } from "./agent-settings";
import { ModelCard } from "./model-card";
import { TokensCard } from "./tokens-card";

export function Component() {
  return (
    <Page title="Settings" lead="Saved as you change them.">
      <div className="max-w-4xl space-y-4">
        <AgentSettings />
        <ModelCard />
        <TokensCard />
        <ThemeCard />
        <AccountCard />
      </div>
    </Page>
  );
}
