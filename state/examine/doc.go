// Package examine decides whether a cluster has what this program needs, by what was seen of the cluster. It is pure:
// apply/examination reads what the lines are decided by.
package examine
