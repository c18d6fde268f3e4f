mkdir -p installed
