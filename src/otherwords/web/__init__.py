"""Web pages on which people judge and reword a suite, and the exports of their verdicts."""

from .exports import EXPORTS, data_card, export, rewordings, verdict_table
from .forms import AnnotationForm, FormQuestion, load_form, shipped_forms
from .items import Settings, open_project
from .people import ROLES, delete_person, find_person, invite, invite_missing, revoke
from .serving import bind, refuse_name, serve, warn_unprotected
from .store import Store, open_store

__all__ = [
    "EXPORTS",
    "ROLES",
    "AnnotationForm",
    "FormQuestion",
    "Settings",
    "Store",
    "bind",
    "data_card",
    "delete_person",
    "export",
    "find_person",
    "invite",
    "invite_missing",
    "load_form",
    "open_project",
    "open_store",
    "refuse_name",
    "revoke",
    "rewordings",
    "serve",
    "shipped_forms",
    "verdict_table",
    "warn_unprotected",
]
