@rem kubectl runs this to complete "kubectl akash-net ...".
@kubectl-akash_net.exe __complete %* 2>nul
