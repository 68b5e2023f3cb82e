# hooks.py - trainings with and without the hooks of dnnest_export.py
#
#     hooks.py loop|transformers|lightning     writes WHICH.json, and loop.out
#
# Prints what is wrong.
#
# SPDX-License-Identifier: GPL-2.0-or-later
import contextlib
import io
import json
import sys

import dnnest_export
import torch
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return {"input_ids": torch.full((32,), i), "labels": torch.tensor(i % 2)}


def loop(hooked):
    """The losses of three steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8),
                                torch.nn.Dropout(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.rand(64, 8), torch.zeros(64).long())
    loader = DataLoader(data, 16)
    if hooked:
        dnnest_export.describe(model, optimizer=optimizer, dataloader=loader,
                               path="loop.json", spec={"epochs": 2})
    losses = []
    for x, y in list(loader)[:3]:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def of_transformers(hooked):
    import transformers
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=128, vocab_size=100, max_position_embeddings=64)
    arguments = transformers.TrainingArguments(
        "out", per_device_train_batch_size=4, gradient_accumulation_steps=2,
        max_steps=2, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no")
    trainer = transformers.Trainer(
        transformers.BertForSequenceClassification(config), arguments,
        train_dataset=Tokens(),
        callbacks=[dnnest_export.trainer_callback("transformers.json")] * hooked)
    return trainer.train().training_loss


def of_lightning(hooked):
    import lightning.pytorch as lightning
    losses = []

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(),
                                           torch.nn.Linear(16, 2))

        def training_step(self, batch, batch_idx):
            loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def on_train_batch_end(self, outputs, *_):
            losses.append(float(outputs["loss"]))

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.rand(64, 8), torch.zeros(64).long())
    lightning.Trainer(
        accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2,
        callbacks=[dnnest_export.lightning_callback("lightning.json")] * hooked,
    ).fit(Net(), DataLoader(data, 16))
    return losses


RUNS = {
    "loop": (loop, {"batch": 16, "optimizer": "momentum", "workers": 0, "samples": 64,
                    "precision": "fp32", "gpus": 1, "epochs": 2}),
    "transformers": (of_transformers, {
        "batch": 4, "grad_accum": 2, "steps": 2, "optimizer": "adamw", "samples": 40,
        "precision": "fp32", "gpus": 1}),
    "lightning": (of_lightning, {
        "batch": 16, "grad_accum": 2, "epochs": 2, "optimizer": "adamw", "samples": 64,
        "precision": "fp32", "gpus": 1}),
}


def main(which):
    run, expected = RUNS[which]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        without = run(False)
        with_hook = run(True)
        if which == "loop":
            dnnest_export.describe("no module")
    if with_hook != without:
        print("losses differ:", without, with_hook)
    with open(which + ".json", encoding="utf-8") as file:
        spec = json.load(file)["spec"]
    for key, value in expected.items():
        if spec.get(key) != value:
            print("%s: %r, expected %r" % (key, spec.get(key), value))
    if which == "loop":
        with open("loop.out", "w", encoding="utf-8") as file:
            file.write(said.getvalue())
        lines = said.getvalue().splitlines()
        if [line.split()[0] for line in lines] != ["#DNNEST", "dnnest:", "dnnest:"]:
            print("said:", lines)


main(sys.argv[1])
