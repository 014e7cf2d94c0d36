"""What a certificate of removal says in words."""

GUARANTEE = (
    "0-certified removal: the model, and everything kept with it, equals bit for bit what learning from scratch on the "
    "remaining records gives. Until its next change, whoever holds the vault can check it: the digests of learning "
    "from scratch are those that this certificate commits to."
)

LIMITS = (
    "Copies and backups of the records, of the vault or of the model made before are not reached.",
    "Earlier versions of the model that were handed out are not reached. Whoever holds the model from before and the "
    "one from after can infer something about who left.",
    "Samples drawn, answers given and reports written before are not reached.",
    "Predictions about a removed person need not change: the model is what learning without them gives.",
)
