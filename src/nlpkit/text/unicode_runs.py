"""Letters, marks, numbers and white space of the Rust crate `regex` (Unicode 16), as runs of code points.

Made by `classes_of_engine` of tests/text/test_scan.py, which compares the two. Read here so that the usual tokens
need no regular expressions.
"""

from __future__ import annotations

import base64
import zlib
from functools import cache

import numpy as np

from nlpkit.kernels import scan
from nlpkit.text.kinds import JOINERS
from nlpkit.types import ByteArray

_RUNS = (
    "c-pO5O^h7H74EL-p6=<{*`58J-L=;&1~2~KwfQkl5E>MIgdmBdB$k{*1d0Mmun1A4T)1&TN+q|PK*}MCxXdM2ZYTmGapHmxNQoj4;>wX@s=B_{"
    "{mpar*s-EkZB19#d-dwQ@BLJ5k|fE%wcNEe*HYIq^v1Owe(P4D&(ZG^9l!VKJ;hqWTh=l}r`MDB3Htlcf072;CD)cAN1<p}U3-IMG-xbmf5F-t"
    "=zomfqW9~(hu;Szzvp$vwbHc<ikDG+ih0K%k8gXf4I%G2*EXSN*3mDBzQA~&_QpD`uqPQG6YUAC?Z4f?x+!$&>F$TEjKYKTTQojU`V%beU@W73"
    "ZIiA_(4M7nzwTqiYmN3=(LO8MQ;+m%sBIA~+gM|+P;|^sW3;DaFv<qn<~`bPwm>!$>6u@y=zGMwP?%<2$($km*7oX>C6C~h=@?rpN{1D#(^qtN"
    "vQyXkF*_9zoAx3&5jiSlqrTE*ruL<6$-3_${$!9<^D%1w-nT|*c|@NR!nEFZs(2TX{iaGkvi~yT1L=bGs|EV+lB3@tL#1pg`qCIYLvv#5q@?4N"
    ">@Mr9cVKM|zqb|kMW#Zn(^qyc2{*Eqx8ITCA^E2y9X=Gnk>sN7j(loVj?C4(g62zX-Y5HsEjBvxHe*v{eGp?CYTY4y7n!aiH*Js{eTr{cBtEc@"
    "j(`E)x5#r4(UZY?{`dFOdHIWueVtM7_a}Epw?cd5@$Zq}53u(h{M5JWq<24l(}ed`s(t)^UZ5BuKDkEzu#Rs-j2q}`q%bYxkHGfYPg3$d!S1T6"
    "Z{*tz!mp<}sci5p=H93LcM0PaY6-^7dCb|x8h-2)@F{uhQNsKl`3cKBA|LeYUjqFh_ETa{vcCc3>OrOv>ES%$?-KC50s4w;QsJ9Xb(kT0iw-wQ"
    "-~C9w_p~3lHud=}osW?RDrS}od{t^*1D(a{866Wd;-68z(es9pcr7w5tN3#msUc;4u59Pmdl-JV8aY!`O8z_&ceQ^?4Pz+Z<_hx<lgzi=k0)IJ"
    "1JoD4Hvtnj9l=+mn_eX5cEzE`N%t!ha|bkjul+vh_|x?E8e#|Q^i^)|kxs66)UiJ!J?0coe@=L*Aj1)CyidMe(w_GzxB2&}`|!a|!1<r9hgf-0"
    "@?_fjjpVBh>@!n&PcZ&0%{@hDkXKbKHjzBNN%+(;aiZ|jqd4;j;)3US8L_t_Jg-q~*XKDu=Q!206UuRWq~AmM)Uxsw_MM8}&tUGLqiz=ZiORQ^"
    "m2VmH39Ykjnlp@Gs-k$neGKpCsK)hken+^`GXL#d(9Z<A@o_zK!Qyqq$zQ_<3+ORdb&z0Yq<pmNtbG%)=(RN1a*A*MoOzmZ+L+pu_`Z$YTtOzu"
    "YrD|f4Z@R&^#0oeRQJeT$hwkqg<`MI!*7D-0{W|nr+&_FLGu>j>=MPLV^kYvRJU;5pF_{0U&-TA5Ar;JM*oYlqs){3G-$-1hALL-^WCEFJ>qjE"
    "4f1c%d1jkp;aRHfpNX8s&qwmJp?bNb-vwfk+)W%QJBhBgD2MDKZauEf=yHy`7^&ZKs+alO9?8k~D-%^GiOu)PPRCV#90TJO<dway)A@4^y#2nf"
    "x%Rx*H*%@u@j}_VRCU^M%HtAiKc|}UY~&0rwbT{5`>F_^Tfj#KEK8ky7ID4+o+lI|9|e|%z_Pwa8Gy$H%qb|2?9jc5#QFzSyw>+%CHy*7YxIDd"
    "WwLQs{gcw!Ye@H9JHUQl@qe=8{K9@Daq5ubXGM7ZU+-X2bvD;EhQ8;>DVOm1PtFHbBvz-Y?izH=$vR@b)cSkC!5aBNrTpv!?6VQM->Pu8dq{g7"
    "P_B|Q(vdn-$-WMd3rFfMPR``V>E3mP&Qfxh@;>5~|MpAdp>@nDRc<Slezp}}^j$Zf9V^5v;rS5lw}{l>#|T@eX%6R!l5}xVotM@STmFe$yh3^r"
    "Tc3*XT7gYDKW$O1@q7fc2Mg-8B4Y1;#LxC4*w2+sA4`L6GOANkRhyht_#YAee@c7Y1a97O6JK%tZ-B24U3<|Hyo`BASzF`wNssTY1pd!CA>Q8&"
    "x{^BfV>j`tX>%LbpFdRZ`YeA0`3LIU&$`^ie6NeYry;(|dHQ2u*!$0~a0kMeyh8WaBdX09dqb*=zMTZS-O56Z?AQ4EWXn@y;eoV`i+d_wEfaqK"
    "=>MPOHu)OasYkUg|1af7W9ZAYXC1%46Q(_9%l|h@@~IP8@6VX?CSt-8`kRRRZxc42i{vpA@$aRMd%~wW?)(a>8M@+XkLLXZwfPR^C;orjy}p-p"
    "?(#pR9=J@hF4O-ha`KsLS>PxB`x(i*s$!W@x#>x|7kndWF<Vd^<h=1z+SU}SbjRiA+)9HUn|Jaf@vX1Y`IxEee&2sY`KG`b@M#rmJ+Fxq^t+LB"
    "?u+z)N6+&gwAQgmE;W%eRThc;{RQ9BNNpSAf2XGDv_EGZGE`)fT;0FP_|qo%^OqI;)-n0ddm+YuXB_tTZ>;;)R>0e(y`aO_-QZsb!MDF~OkY?J"
    "ykBy3*Zx%{-z0V6d~I50({j30POS@Jv*{nEv#E>I<7DQzTKCt^>W&{XOKyLfLDM|pZDt(3|LTV7X6t$Ww;#6kw|ZW9{6t|{lVI4kALz4Rw;nbk"
    "sjN&B=OnU$F2V_HlFsk#4BMduO!9L~lseF>z1+^<fV|nG(_;8CCz_C1=nvHGV`fHX+NK8;7|7n8VHz8R$C_kzm(Sd?<5|EBY}o>#-M(AVD*0*y"
    "hR1@go@GVMS)lWRHaoSX35cD{%-zX6c0`$b#`P1>qZO<lJF`i6!a8=bTbOzoPh+5xIqnvJiD!6%@`6#6IN}Zf!>omxv7+r73AHuF3W5u^Z!$~R"
    "+u9WpbDPU|>9ldGg_^doc})?tY-i*H_KqC7tkH(2nxR;z@tPnamTbIBk=8-Tix{laVgULJk~ZqDbtgf@CK8)wjqbymjaq__%_-P+1|Y%xyg7_`"
    "0Agm+z+9pg3~BM*wmu2bnH%9DF%3clacq?^VJ@sT(unq;YeX$02r|mB4P#^HjNV9Y+jVUd{bhl>2|z|Y%Bk)JU~~L*E(zvtv|QuFB9OK$Ok)!J"
    "e~_qksF)7^3rU5RXa"
)


@cache
def character_classes() -> ByteArray:
    """Return the flags (kernels.scan) of every code point (0x110000,) uint8."""
    data = zlib.decompress(base64.b85decode(_RUNS))
    n = len(data) // 5  # of each run four bytes of distance to the run before, and the flags
    starts = np.cumsum(np.frombuffer(data, "<u4", n), dtype=np.int64)
    lengths = np.diff(starts, append=0x110000)
    classes = np.repeat(np.frombuffer(data, np.uint8, n, 4 * n), lengths)
    classes[[ord(sign) for sign in JOINERS]] |= scan.JOIN
    classes[ord("`")] &= 255 - scan.ENDS
    return classes
