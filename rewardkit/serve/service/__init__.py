"""The HTTP reward service: `rewardkit serve reward.yaml`."""

from rewardkit.serve.service.app import make_service
from rewardkit.serve.service.limits import ServiceLimits
from rewardkit.serve.service.server import listen, serve

__all__ = ["ServiceLimits", "listen", "make_service", "serve"]
