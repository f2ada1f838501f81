import { Progress } from "./exchange/footer";
import { Question } from "./exchange/question";

/** A question on its way: as it will stand in the conversation in a moment. */
export function PendingQuestion({ question }: { question: string }) {
  return (
    <div className="py-3" role="status">
      <Question text={question} />
      <div className="mt-3">
        <Progress words="Sending" />
      </div>
    </div>
  );
}
