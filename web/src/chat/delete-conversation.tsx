import { useNavigate } from "react-router";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ProblemNotice } from "@/ui/states";
import { type Conversation, useDeleteConversation } from "./conversation-queries";

type DeleteConversationProps = { conversation: Conversation; isCurrent: boolean; onClose: () => void };

export function DeleteConversation({ conversation, isCurrent, onClose }: DeleteConversationProps) {
  const deleting = useDeleteConversation();
  const navigate = useNavigate();
  const remove = () =>
    deleting.mutate(conversation.id, {
      onSuccess: () => {
        if (isCurrent) void navigate("/", { replace: true });
        onClose();
      },
    });
  return (
    <Dialog
      title="Delete this conversation?"
      description="It leaves the list for good. The records of its runs stay, and so do branches of it."
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
    >
      <p className="line-clamp-3 rounded-control bg-canvas p-2.5 text-sm break-words">{conversation.title}</p>
      {deleting.isError && <ProblemNotice className="mt-3" error={deleting.error} />}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button look="stop" onClick={remove} disabled={deleting.isPending}>
          {deleting.isPending ? "Deleting …" : "Delete"}
        </Button>
      </div>
    </Dialog>
  );
}
