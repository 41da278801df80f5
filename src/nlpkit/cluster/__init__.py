"""Points in space: neighbours, reduction, partitions and hierarchies; the command cluster."""
