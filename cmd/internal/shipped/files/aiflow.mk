# Make targets for aiflow. Put this line into your Makefile:
#
#   -include .aiflow/aiflow.mk
#
#   make next        which request is next, and why not the others
#   make run-next    run it on a branch of its own
#   make list        all requests
#   make auto        run one after the other until something stops it
#   make land        land what is finished on the branch checked out, tested
#   make doctor      is everything in place?
#   make ui          the page on localhost
#
# More arguments: make next ARGS="--json", make auto ARGS="--stack --jobs 2".
# Each target has a twin with the prefix aiflow- (make aiflow-next). A plain name that your Makefile defines
# itself stays yours; AIFLOW_PLAIN_TARGETS=0 leaves all plain names out.
# Made by `aiflow init`, renewed by `aiflow init --force`.

AIFLOW_PLAIN_TARGETS ?= 1
# The folder of the aiflow binaries, recorded by `aiflow init`; else PATH.
-include .aiflow/cache/bin.mk
AIFLOW_BIN ?=

aiflow_goal := $(.DEFAULT_GOAL)
aiflow_names := next run-next list auto land doctor ui
aiflow_quote := '
aiflow_path = $(if $(AIFLOW_BIN),PATH='$(subst $(aiflow_quote),'\'',$(AIFLOW_BIN))':"$$PATH")

.PHONY: $(addprefix aiflow-,$(aiflow_names))

aiflow-next:
	@$(aiflow_path) aiflow next $(ARGS)
aiflow-run-next:
	@$(aiflow_path) aiflow run --next $(ARGS)
aiflow-list:
	@$(aiflow_path) aiflow request list $(ARGS)
aiflow-auto:
	@$(aiflow_path) aiflow run auto $(ARGS)
aiflow-land:
	@$(aiflow_path) aiflow land $(or $(ARGS),--all)
aiflow-doctor:
	@$(aiflow_path) aiflow doctor $(ARGS)
aiflow-ui:
	@$(aiflow_path) aiflow serve $(ARGS)

ifeq ($(AIFLOW_PLAIN_TARGETS),1)
aiflow_taken := $(shell sed -nE 's/^([^:=\#]*[[:space:]])?(next|run-next|list|auto|land|doctor|ui)([[:space:]][^:=\#]*)?::?([^=].*)?$$/\2/p' $(filter-out %aiflow.mk %bin.mk,$(MAKEFILE_LIST)) 2>/dev/null)
aiflow_plain := $(filter-out $(aiflow_taken),$(aiflow_names))
.PHONY: $(aiflow_plain)
$(aiflow_plain): %: aiflow-%
endif

.DEFAULT_GOAL := $(aiflow_goal)
